CREATE ROLE my_worker; CREATE ROLE my_supervisor;
