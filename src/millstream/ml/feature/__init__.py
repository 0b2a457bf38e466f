"""Feature engineering: scalers, encoders, selectors, texts."""
