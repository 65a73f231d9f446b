"""Shows a session in the browser, with NiceGUI: all that is decided is decided in the modules above."""
