import type { BlobId, JsonObject, OwnerId } from "@holdfast/protocol";
import type { ModelEvent } from "../ports/model.ts";
import type { Store } from "../ports/store.ts";
import { jsonSize } from "./settle.ts";

/** Of one answer. Its pictures are in memory until it ends. */
export const imageLimits = {
  count: 16,
  bytes: 20 * 1024 * 1024,
  allBytes: 40 * 1024 * 1024,
  /** What the provider wants back with all of them, in bytes of JSON. */
  opaque: 128 * 1024,
} as const;

/** A picture that the model made, in the store. */
export interface StoredImage {
  readonly blobId: BlobId;
  readonly mediaType: string;
  readonly name: string;
  readonly size: number;
  readonly opaque?: JsonObject;
}

export interface StoredImages {
  readonly stored: readonly StoredImage[];
  /** A sentence on each picture that is not there. */
  readonly leftOut: readonly string[];
}

interface HeldImage extends Omit<StoredImage, "blobId" | "size"> {
  readonly bytes: Uint8Array;
}

/**
 * The pictures of one answer. They are stored once it has ended, just before the commit that refers to them: a runner
 * that dies earlier leaves no blobs behind, and a store that was away meanwhile is back.
 */
export class AnswerImages {
  readonly #held: HeldImage[] = [];
  readonly #leftOut = new Set<string>();
  #bytes = 0;
  #opaqueBytes = 0;

  add({ bytes, mediaType: claimed, opaque }: Extract<ModelEvent, { kind: "image" }>): void {
    if (bytes === null) return this.#leaveOut(linkOnly);
    const type = imageTypeOf(bytes);
    if (type === null) return this.#leaveOut(notAPicture(claimed));
    if (bytes.byteLength > imageLimits.bytes) return this.#leaveOut(tooLarge);
    const allBytes = this.#bytes + bytes.byteLength;
    if (this.#held.length === imageLimits.count || allBytes > imageLimits.allBytes)
      return this.#leaveOut(tooMany);
    this.#bytes = allBytes;
    const name = `picture-${this.#held.length + 1}.${type}`;
    const image = { mediaType: `image/${type}`, name, bytes };
    this.#held.push({ ...image, ...(opaque && this.#fits(opaque) && { opaque }) });
  }

  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  async store(store: Pick<Store, "putBlob">, owner: OwnerId): Promise<StoredImages> {
    const stored: StoredImage[] = [];
    for (const { bytes, ...image } of this.#held) {
      const put = await store.putBlob(owner, bytes, image.mediaType);
      if (put.status === "stored")
        stored.push({ ...image, blobId: put.id, size: bytes.byteLength });
      else this.#leaveOut(notStored(put.message));
    }
    return { stored, leftOut: [...this.#leftOut] };
  }

  /** Without it a picture goes back to the model like one of a person, which every provider accepts. */
  #fits(opaque: JsonObject): boolean {
    this.#opaqueBytes += jsonSize(opaque);
    return this.#opaqueBytes <= imageLimits.opaque;
  }

  #leaveOut(sentence: string): void {
    this.#leftOut.add(sentence);
  }
}

type ImageType = "png" | "jpeg" | "gif" | "webp";

/** From the bytes alone: what a provider says about them may be wrong, or meant to be run by a browser. */
function imageTypeOf(bytes: Uint8Array): ImageType | null {
  const start = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  if (start.startsWith("\x89PNG\r\n\x1a\n")) return "png";
  if (start.startsWith("\xff\xd8\xff")) return "jpeg";
  if (start.startsWith("GIF87a") || start.startsWith("GIF89a")) return "gif";
  return start.startsWith("RIFF") && start.endsWith("WEBP") ? "webp" : null;
}

const linkOnly =
  "The model gave a picture as a link. Links are not followed, so it was left out. Ask for it again.";
const tooLarge = `The model made a picture of more than ${imageLimits.bytes / 1024 / 1024} MB, which was left out. Ask for a smaller one.`;
const tooMany = `The model made more pictures than one answer can have (${imageLimits.count}, or ${imageLimits.allBytes / 1024 / 1024} MB), and the rest were left out. Ask for them in another message.`;

function notAPicture(claimed: string): string {
  const type = /^[a-z]+\/[a-z0-9.+-]{1,60}$/i.test(claimed) ? ` (${claimed})` : "";
  return `The model sent a file${type} that is not a PNG, JPEG, GIF or WebP picture, so it was left out. Ask for one of these.`;
}

function notStored(reason: string): string {
  return `A picture that the model made could not be stored: ${reason} Ask for it again.`;
}
