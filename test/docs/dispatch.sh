printf '#!/bin/sh\necho "$@"\n' >switchover
chmod +x switchover
