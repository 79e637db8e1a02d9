"""What a release carries about its people, and how much noise it would need."""
