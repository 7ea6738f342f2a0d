"""Files that the server's user reads too, wherever the tree is: a home of root is closed to it."""

import atexit
import os
import shutil
import tempfile


def shared_file(name):
    """The path of a file that does not exist yet, in a directory of its own that goes when the test ends."""
    directory = tempfile.mkdtemp(prefix="ql3.", dir="/tmp")
    os.chmod(directory, 0o755)
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(directory, ignore_errors=True) if os.getpid() == owner else None)
    return os.path.join(directory, name)
