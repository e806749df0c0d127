"use strict";

const place = document.getElementById("swagger-ui");

SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "none", // with all of its operations open, the page takes minutes
  // "Try it out" under the session of the admin site needs its token.
  requestInterceptor: (request) => {
    if (new URL(request.url, document.baseURI).origin === location.origin) {
      request.headers["X-CSRFToken"] = place.dataset.csrfToken;
    }
    return request;
  },
});
