"""How far other solutions could be, and which records are common to all of them."""
