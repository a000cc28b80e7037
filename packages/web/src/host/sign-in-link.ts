/**
 * Takes the one-time code out of the address, at once: what stays there ends up in the history, in
 * bookmarks and on shared screens.
 */
export function consumeSignInCode(place: Location, history: History): string | undefined {
  const code = new URLSearchParams(place.hash.slice(1)).get("signin");
  if (code === null || code === "") return undefined;
  history.replaceState(null, "", place.pathname + place.search);
  return code;
}
