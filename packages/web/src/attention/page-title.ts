import { strings } from "../strings/strings.ts";

let title = "";
let waiting = 0;

function show(): void {
  const name = title === "" ? strings.product : `${title} · ${strings.product}`;
  document.title = waiting === 0 ? name : `(${waiting}) ${name}`;
}

/** The title of what is open; empty for the product alone. */
export function setPageTitle(next: string): void {
  title = next;
  show();
}

/** How many things wait for the person, shown in front of the title and on the installed page's icon. */
export function setTitleBadge(count: number): void {
  waiting = count;
  show();
  // Only installed pages have an icon to mark.
  void navigator.setAppBadge?.(count).catch(() => undefined);
}
