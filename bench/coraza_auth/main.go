// Command coraza_auth answers forward-auth requests with Coraza and the OWASP Core Rule Set alone: 200, or 403 where
// the rules refuse. The rules are as they come (paranoia level 1, threshold 5), in blocking mode, without logs.
package main

import (
	"log"
	"net/http"
	"os"
	"strings"

	crs "github.com/corazawaf/coraza-coreruleset/v4"
	"github.com/corazawaf/coraza/v3"
)

const directives = `
Include @coraza.conf-recommended
Include @crs-setup.conf.example
Include @owasp_crs/*.conf
SecRuleEngine On
SecAuditEngine Off
SecRequestBodyAccess Off
SecResponseBodyAccess Off
`

func main() {
	waf, err := coraza.NewWAF(coraza.NewWAFConfig().WithRootFS(crs.FS).WithDirectives(directives))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses(waf, r) {
			w.WriteHeader(http.StatusForbidden)
		}
	})))
}

// refuses reports whether the rules interrupt the visitor's request that the forwarding headers describe.
func refuses(waf coraza.WAF, r *http.Request) bool {
	tx := waf.NewTransaction()
	defer func() {
		tx.ProcessLogging()
		_ = tx.Close()
	}()
	tx.ProcessConnection(r.Header.Get("X-Forwarded-For"), 0, "", 0)
	tx.ProcessURI(r.Header.Get("X-Forwarded-Uri"), r.Header.Get("X-Forwarded-Method"), "HTTP/1.1")
	tx.SetServerName(r.Header.Get("X-Forwarded-Host"))
	tx.AddRequestHeader("Host", r.Header.Get("X-Forwarded-Host"))
	for name, values := range r.Header {
		if !strings.HasPrefix(name, "X-Forwarded-") {
			for _, value := range values {
				tx.AddRequestHeader(name, value)
			}
		}
	}
	if tx.ProcessRequestHeaders() != nil {
		return true
	}
	found, err := tx.ProcessRequestBody()
	return found != nil || err != nil
}
