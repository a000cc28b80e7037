import { z } from "zod";
import { setting } from "./setting.ts";

function isServerAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.search === "" && url.hash === "" && url.username === "" && url.password === "";
}

/** Objects on an S3 or compatible server. */
export const storageSettings = {
  blobStorage: setting<"database" | "objects">({
    about: "where pictures, attachments and large texts go",
    allowed: "database, or objects (needs objectStorageUrl)",
    schema: z.enum(["database", "objects"]),
    fallback: () => "database",
    fallbackInWords: "database",
  }),
  objectStorageUrl: setting<string | undefined>({
    about: "the S3 or compatible server for objects",
    allowed: "an address like https://s3.eu-central-1.amazonaws.com or http://127.0.0.1:9000",
    schema: z.string().refine(isServerAddress),
    fallback: () => undefined,
    fallbackInWords: "none",
  }),
  objectStorageRegion: setting({
    about: "the region of that server",
    allowed: "a name like eu-central-1",
    schema: z.string().regex(/^[A-Za-z0-9-]{1,64}$/),
    fallback: () => "us-east-1",
    fallbackInWords: "us-east-1",
  }),
  objectStorageBucket: setting<string | undefined>({
    about: "the bucket for objects; Holdfast doesn't create it",
    allowed: "a name of 3 to 63 lowercase letters, digits, dots and hyphens",
    schema: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/),
    fallback: () => undefined,
    fallbackInWords: "none",
  }),
  objectStoragePrefix: setting({
    about: "what the keys of all objects begin with; each store needs its own",
    allowed: "parts of letters, digits, dots, hyphens and underscores with slashes between them",
    schema: z
      .string()
      .max(200)
      .regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/),
    fallback: () => "holdfast",
    fallbackInWords: "holdfast",
  }),
  objectStorageAddressing: setting<"path" | "host">({
    about: "where the bucket's name goes in addresses",
    allowed: "path (most servers) or host (before the server's name)",
    schema: z.enum(["path", "host"]),
    fallback: () => "path",
    fallbackInWords: "path",
  }),
  objectStorageKeyId: setting<string | undefined>({
    about: "the id of the access key for that server",
    allowed: "1 to 256 visible ASCII characters without a space",
    schema: z.string().regex(/^[\x21-\x7e]{1,256}$/),
    fallback: () => undefined,
    fallbackInWords: "none",
    traits: ["secret"],
  }),
  objectStorageSecretKey: setting<string | undefined>({
    about: "the secret of that access key",
    allowed: "1 to 512 visible ASCII characters without a space",
    schema: z.string().regex(/^[\x21-\x7e]{1,512}$/),
    fallback: () => undefined,
    fallbackInWords: "none",
    traits: ["secret"],
  }),
};
