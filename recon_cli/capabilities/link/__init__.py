"""Linking records with attackers' files, and guessing without."""
