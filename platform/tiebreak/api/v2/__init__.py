"""The second version of reading, which the SDK's generated client speaks."""
