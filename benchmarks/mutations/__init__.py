"""Input files broken at random, thousands of them, and what is done about them."""
