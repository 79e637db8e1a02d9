"""Households: claims beside the study of verified claims, and its formulation beside ours."""
