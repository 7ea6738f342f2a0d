// A dispatch with database/sql and lib/pq: posts to URL at most once for this item of this request.
//
//	dispatch 'host=... user=...' REQUEST ITEM URL        exits as `ql3 dispatch` does
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"
)

var exits = map[string]int{"succeeded": 0, "failed": 10, "foreign": 11, "concluded": 12, "identity_conflict": 13,
	"halted": 14, "unknown": 15, "not_sent": 16, "released": 16}
var passing = map[pq.ErrorCode]bool{"25006": true, "40001": true, "55P03": true, "57P01": true, "57P03": true}

// once is one statement on a connection of its own: on a *sql.DB a broken connection makes database/sql repeat it.
func once(into []any, query string, values ...any) error {
	db, err := sql.Open("postgres", os.Args[1])
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	return conn.QueryRowContext(context.Background(), query, values...).Scan(into...)
}

// ask repeats a call whose answer was lost, as it was: ql3 knows it by its token, and answers the same.
func ask(patience time.Duration, into []any, query string, values ...any) {
	for end := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		err := once(into, query, values...)
		if err == nil {
			return
		}
		var refused *pq.Error // anything else came from the way there
		if errors.As(err, &refused) && !passing[refused.Code] || time.Now().After(end) {
			log.Fatal(err)
		}
	}
}

func post(url, body string) (outcome, detail string) {
	answer, err := (&http.Client{Timeout: time.Minute}).Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return "unknown", err.Error() // it may have arrived
	}
	defer answer.Body.Close()
	return map[bool]string{true: "succeeded", false: "failed"}[answer.StatusCode/100 == 2], answer.Status
}

func asJSON(value map[string]string) string {
	text, _ := json.Marshal(value)
	return string(text) // not the []byte: with binary_parameters=yes that goes out as binary, which jsonb does not take
}

const forever = 100 * 365 * 24 * time.Hour

func dispatch(request, item, url string) (outcome, why string) {
	what, writer := asJSON(map[string]string{"url": url}), fmt.Sprintf("pid-%d", os.Getpid())
	token, permit := uuid.NewString(), uuid.NewString()
	var detail sql.NullString
	ask(30*time.Second, []any{&outcome, &detail}, "SELECT verdict, detail FROM ql3.ql3_dispatch_claim($1, $2, 'restart', $3, $4, $5)",
		request, item, what, writer, token)
	if outcome != "recorded" { // another's, done, or halted until an operator has spoken: in no case a call
		return outcome, detail.String
	}
	outcome, why = "not_sent", "no permission"
	asked, granted := time.Now(), false
	err := once([]any{&granted}, "SELECT ql3.ql3_dispatch_permit($1, $2, $3, $4, $5)", request, item, writer, token, permit)
	if err != nil { // lost or refused: no answer, no call, and never asked again
		granted, why = false, err.Error()
	}
	if granted && time.Since(asked) < time.Minute { // with the call's own minute, less than half of observe_after
		outcome, why = post(url, asJSON(map[string]string{"request": request, "item": item}))
	}
	stored := ""
	ask(forever, []any{&stored}, "SELECT ql3.ql3_dispatch_settle($1, $2, $3, $4, $5, $6, $7)",
		request, item, writer, token, outcome, why, permit)
	if granted && (stored == "absent" || stored == "foreign") { // a failover has lost our row
		ask(forever, []any{&stored}, "SELECT ql3.ql3_dispatch_reassert($1, $2, 'restart', $3, $4, $5, $6)",
			request, item, what, writer, token, outcome)
	}
	return outcome, why
}

func main() {
	outcome, why := dispatch(os.Args[2], os.Args[3], os.Args[4])
	fmt.Println(outcome, why)
	os.Exit(exits[outcome])
}
