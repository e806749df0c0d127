// Try the pattern while it is written. Without this script, the button opens the result in a page of its own.
const box = document.getElementById("try-pattern");
const form = box?.closest("form");
if (form) {
  const [example, button, output] = ["textarea", "button", "output"].map((tag) => box.querySelector(tag));
  let waiting = 0;
  let last = 0;

  const attempt = async () => {
    const number = ++last;
    const response = await fetch(`${button.formAction}?part=1`, { method: "POST", body: new FormData(form) });
    if (number === last && response.ok) output.innerHTML = await response.text();
  };
  const soon = () => {
    clearTimeout(waiting);
    if (example.value) waiting = setTimeout(attempt, 400);
  };

  button.addEventListener("click", (event) => {
    event.preventDefault();
    attempt();
  });
  form.addEventListener("input", soon);
}
