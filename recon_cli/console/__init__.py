"""What commands share: their options, their groups, what they print, and how they end."""
