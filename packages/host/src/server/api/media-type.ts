const tokenPattern = "[\\w!#$%&'*+.^`|~-]+";
const parameterPattern = `\\s*;\\s*${tokenPattern}=(?:${tokenPattern}|"[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]*")`;
const wellFormed = new RegExp(`^${tokenPattern}/${tokenPattern}(?:${parameterPattern})*$`);
const maxMediaTypeLength = 200;

/** A form body is wrapped or escaped: stored as is, it would not be what the person meant. */
const formEncoded = /^(?:multipart\/.*|application\/x-www-form-urlencoded)$/;

type MediaType = { readonly mediaType: string } | { readonly refusal: string };

/** The media type to store for a body; a missing one means unknown bytes. */
export function readMediaType(header: string | undefined): MediaType {
  if (header === undefined || header === "") return { mediaType: "application/octet-stream" };
  if (header.length > maxMediaTypeLength || !wellFormed.test(header))
    return { refusal: "This is not a media type." };
  if (formEncoded.test(mediaTypeEssence(header)))
    return {
      refusal: "Send the bytes by themselves, under their own media type, and not as a form.",
    };
  return { mediaType: header };
}

export function mediaTypeEssence(mediaType: string): string {
  return mediaType.replace(/;.*/, "").trim().toLowerCase();
}

const noScripts = [
  "default-src 'none'",
  "img-src data:",
  "font-src data:",
  "style-src 'unsafe-inline'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
];
/** For a file that the page shows in a frame. */
export const viewPolicy = [...noScripts, "sandbox"].join("; ");
/** Browsers show no PDF in a sandbox; their viewers give its scripts no access to this origin. */
export const pdfPolicy = [...noScripts, "object-src 'self'"].join("; ");

/** Only what is a PDF goes to the viewer for PDFs. */
export function hasPdfStart(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 5)).toString("latin1") === "%PDF-";
}
