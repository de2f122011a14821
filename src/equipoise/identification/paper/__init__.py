"""The method of [Muscolo2017] as published, corrected where printed wrong."""
