"use strict";

const place = document.getElementById("swagger-ui");

SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  onComplete: () => {
    // What Swagger UI lacks for screen readers.
    document.getElementById("servers")?.setAttribute("aria-label", "Server");
    for (const [part, words] of [[".information-container", "About this API"], [".scheme-container", "Server"]]) {
      place.querySelector(part)?.setAttribute("role", "region");
      place.querySelector(part)?.setAttribute("aria-label", words);
    }
    for (const heading of place.querySelectorAll("h3.opblock-tag, .models h4")) {
      heading.setAttribute("aria-level", "2");
    }
  },
  docExpansion: "none", // with all of its operations open, the page takes minutes
  // "Try it out" under the session of the admin site needs its token.
  requestInterceptor: (request) => {
    if (new URL(request.url, document.baseURI).origin === location.origin) {
      request.headers["X-CSRFToken"] = place.dataset.csrfToken;
    }
    return request;
  },
});
