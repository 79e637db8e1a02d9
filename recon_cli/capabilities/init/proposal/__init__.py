"""What the numbers of a sheet tell: its sums and shares, and the reading that they propose."""
