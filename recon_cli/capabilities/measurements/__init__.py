"""Histograms of geounits in a hierarchy, fitted to noisy measurements and rounded."""
