"""What the secret scanner finds, beside others."""
