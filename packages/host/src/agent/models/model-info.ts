/** Where a provider is served: without a password, a question or a slash at its end, so that the same place is the same text. */
export function parseBaseUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const isBare = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  return isBare ? text.replace(/\/+$/, "") : null;
}
