// A supervisor with database/sql and lib/pq: judges the lost targets of kind "job" until none can be claimed.
//
//	supervisor 'host=... user=...' OWNER
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"
)

type target struct {
	id, source string
	version    int64
	pid        sql.NullInt64
}

// again repeats a call whose answer was lost, as it was: ql3 knows it by its token, and answers the same.
func again(call func() error) {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		err := call()
		if err == nil {
			return
		}
		var refused *pq.Error // anything else came from the way there
		if errors.As(err, &refused) && !passing[refused.Code] || time.Now().After(end) {
			log.Fatal(err)
		}
	}
}

// The server is ending or has moved, or refuses for the moment: nothing was done.
var passing = map[pq.ErrorCode]bool{"25006": true, "40001": true, "40P01": true, "55P03": true, "57P01": true, "57P03": true}

// claim is one statement, as every call here: no transaction is open while a probe looks.
func claim(db *sql.DB, owner, token string) (page []target, err error) {
	rows, err := db.Query("SELECT id, source, version, source->>'pid' FROM ql3.ql3_claim($1, 16, '30 s', $2, $3)",
		owner, token, pq.Array([]string{"job"}))
	for err == nil && rows.Next() {
		var t target
		err = rows.Scan(&t.id, &t.source, &t.version, &t.pid)
		page = append(page, t)
	}
	if err == nil {
		err = rows.Err()
	}
	return page, err
}

// judge is only the form; a real probe compares start times too, since a pid is given again (docs/probes.md).
func judge(db *sql.DB, owner, token string, t target) *sql.Row {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", t.pid.Int64))
	if t.pid.Valid && errors.Is(err, os.ErrNotExist) {
		return db.QueryRow("SELECT ql3.ql3_conclude('job', $1, $2, $3, $4, 'not_running', $5)",
			t.id, owner, token, t.version, t.source)
	}
	note := map[bool]string{true: "running", false: "unknown"}[t.pid.Valid]
	return db.QueryRow("SELECT ql3.ql3_settle('job', $1, $2, $3, $4, 'retry', '10 s', $5)", t.id, owner, token, t.version, note)
}

func main() {
	db, err := sql.Open("postgres", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for page := []target{{}}; len(page) > 0; {
		token := uuid.NewString() // made before the call, so that a lost reply can be asked for again
		again(func() (err error) { page, err = claim(db, os.Args[2], token); return })
		for _, t := range page {
			var word string
			again(func() error { return judge(db, os.Args[2], token, t).Scan(&word) })
			// fenced: our claim ran out, another may have the target. Nothing was changed and nothing is repeated:
			// whoever holds it now decides. stale: the facts have changed, it will be judged anew.
			fmt.Printf("%s: %s\n", t.id, word)
		}
	}
}
