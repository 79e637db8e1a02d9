"""What noisy measurements leave an attacker: likely records, and intervals at a stated level."""
