"""What the attack says of tiny random releases against enumeration of all that is possible."""
