"""What noise costs the users of tables, against the privacy that it gives."""
