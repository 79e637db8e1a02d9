"""The attack as pure functions over frames and arrays."""
