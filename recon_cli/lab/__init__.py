"""What measures the tool, or teaches: nothing else leans on it."""
