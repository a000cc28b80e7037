import { answer, problem, type Reply } from "./reply.ts";

const tokenPattern = "[\\w!#$%&'*+.^`|~-]+";
const parameterPattern = `\\s*;\\s*${tokenPattern}=(?:${tokenPattern}|"[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]*")`;
const wellFormed = new RegExp(`^${tokenPattern}/${tokenPattern}(?:${parameterPattern})*$`);
const maxMediaTypeLength = 200;

/** What a form sends is wrapped or escaped: kept as it came, it would not be what was meant. */
const formEncoded = /^(?:multipart\/.*|application\/x-www-form-urlencoded)$/;

/** The media type under which a body is kept. One that is missing says nothing about the bytes. */
export function readMediaType(header: string | undefined): Reply<string> {
  if (header === undefined || header === "") return answer("application/octet-stream");
  if (header.length > maxMediaTypeLength || !wellFormed.test(header))
    return problem("unsupported_media_type", { detail: "This is not a media type." });
  if (formEncoded.test(mediaTypeEssence(header)))
    return problem("unsupported_media_type", {
      detail: "Send the bytes by themselves, under their own media type, and not as a form.",
    });
  return answer(header);
}

/** The type without its parameters. */
export function mediaTypeEssence(mediaType: string): string {
  return mediaType.replace(/;.*/, "").trim().toLowerCase();
}
