"""How is a region rewritten? Derivatives are passes, too: from a region to a region."""
