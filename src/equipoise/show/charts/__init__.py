"""What there is to plot of a run, and figures of it for papers."""
