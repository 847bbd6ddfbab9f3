"""The filter language of the SDK: `and(eq(name, "x"), gt(latency, 2))`."""
