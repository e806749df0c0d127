"use strict";
// Passkeys: forms with data-passkey ("get" or "create") ask the browser before they are sent, unless a button with
// data-plain sends them. Without this script, these forms or their buttons with data-scripted are hidden; password and
// code work without it.
(() => {
  const bytes = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  const optionsOf = (sent) => {
    const known = (list) => (list || []).map((each) => ({ ...each, id: bytes(each.id) }));
    const options = { ...sent, challenge: bytes(sent.challenge) };
    if (sent.user) {
      options.user = { ...sent.user, id: bytes(sent.user.id) };
      options.excludeCredentials = known(sent.excludeCredentials);
    } else {
      options.allowCredentials = known(sent.allowCredentials);
    }
    return options;
  };

  const answerOf = (credential) => {
    const response = { clientDataJSON: text(credential.response.clientDataJSON) };
    for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (credential.response[name]) response[name] = text(credential.response[name]);
    }
    if (credential.response.getTransports) response.transports = credential.response.getTransports();
    return { id: credential.id, rawId: text(credential.rawId), type: credential.type, response };
  };

  const ask = async (form) => {
    const fields = new URLSearchParams(new FormData(form));
    for (const name of ["credential", "new", "code"]) fields.delete(name);
    const begun = await fetch(form.dataset.begin, { method: "POST", body: fields });
    const told = await begun.json();
    if (!begun.ok) throw new Error(told.detail);
    const publicKey = optionsOf(told.public_key);
    try {
      return answerOf(await navigator.credentials[form.dataset.passkey]({ publicKey }));
    } catch (error) {
      throw new Error(error.name === "InvalidStateError" ? form.dataset.known : form.dataset.failed);
    }
  };

  if (!window.PublicKeyCredential) return;
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const says = form.querySelector("[role=alert]");
    form.hidden = false;
    for (const button of form.querySelectorAll("[data-scripted]")) button.hidden = false;
    form.addEventListener("submit", async (event) => {
      const button = event.submitter || form.querySelector("button");
      if ("plain" in button.dataset) return;
      event.preventDefault();
      button.disabled = true;
      says.hidden = true;
      try {
        form.elements.credential.value = JSON.stringify(await ask(form));
        form.submit();
      } catch (error) {
        says.textContent = error instanceof SyntaxError || error instanceof TypeError ? form.dataset.failed : error.message;
        says.hidden = false;
        button.disabled = false;
      }
    });
  }
})();
