// A site that lets in whoever has a signed identity, around the function that docs/signed-identity.md prints.
package main

import (
	"context"
	"net/http"
	"os"

	"github.com/lestrrat-go/httprc/v3"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

func main() {
	ctx := context.Background()
	cache, err := jwk.NewCache(ctx, httprc.NewClient())
	if err != nil {
		panic(err)
	}
	if err := cache.Register(ctx, keysURL); err != nil {
		panic(err)
	}
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})
	panic(http.ListenAndServe(os.Args[1], identified(cache, site)))
}
