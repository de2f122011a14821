"""What a biped has that its file does not name: limbs, soles, a way to stand."""
