SELECT rhythm.now_ms()
