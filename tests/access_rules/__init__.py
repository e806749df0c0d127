"""A second implementation of the decision on access rules, made from the documents alone, and random cases for it."""
