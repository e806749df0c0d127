// An OpenID Connect provider for tests, on loopback: the certified library github.com/zitadel/oidc with its example
// store. It shows that Gatewall signs in at a provider that others wrote.
package main

import (
	"log/slog"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

func main() {
	issuer, address, redirect := os.Args[1], os.Args[2], os.Args[3]
	users := storage.NewUserStore(issuer)
	storage.RegisterClients(storage.WebClient("gatewall", "secret", redirect))
	handler := exampleop.SetupServer(issuer, storage.NewStorage(users), slog.Default(), false)
	if err := http.ListenAndServe(address, handler); err != nil {
		slog.Error(err.Error())
		os.Exit(1)
	}
}
