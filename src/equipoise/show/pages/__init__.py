"""Pages that need nothing else: reports, their drawings and the replay."""
