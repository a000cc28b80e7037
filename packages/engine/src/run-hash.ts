const encoder = new TextEncoder();

/** The SHA-256 of a value's JSON text, in hexadecimal. */
export async function sha256OfJson(value: unknown): Promise<string> {
  const bytes = encoder.encode(JSON.stringify(value));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
