import type { Config } from "../ops/config/settings.ts";
import { done, failed, type Outcome } from "../util/outcome.ts";
import type { ObjectStorage } from "./object-storage.ts";

const allOf = new Intl.ListFormat("en", { type: "conjunction" });

type StorageConfig = Pick<
  Config,
  | "objectStorageUrl"
  | "objectStorageRegion"
  | "objectStorageBucket"
  | "objectStoragePrefix"
  | "objectStorageAddressing"
  | "objectStorageKeyId"
  | "objectStorageSecretKey"
>;

/** Undefined without `objectStorageUrl`; then nothing of it is loaded. No request is sent. */
export async function openObjectStorage(
  config: StorageConfig,
): Promise<Outcome<ObjectStorage | undefined>> {
  const { value: url } = config.objectStorageUrl;
  if (url === undefined) return done(undefined);
  const { value: bucket } = config.objectStorageBucket;
  const { value: keyId } = config.objectStorageKeyId;
  const { value: secretKey } = config.objectStorageSecretKey;
  if (bucket === undefined || keyId === undefined || secretKey === undefined) {
    const missing = Object.entries({
      HOLDFAST_OBJECT_STORAGE_BUCKET: bucket,
      HOLDFAST_OBJECT_STORAGE_KEY_ID: keyId,
      HOLDFAST_OBJECT_STORAGE_SECRET_KEY: secretKey,
    }).flatMap(([name, value]) => (value === undefined ? [name] : []));
    const message = `Object storage needs more than its address. Set ${allOf.format(missing)}, or unset HOLDFAST_OBJECT_STORAGE_URL.`;
    return failed("config.invalid", message);
  }
  const { openS3Storage } = await import("./s3-storage.ts");
  const storage = openS3Storage({
    url,
    bucket,
    keyId,
    secretKey,
    region: config.objectStorageRegion.value,
    prefix: config.objectStoragePrefix.value,
    addressing: config.objectStorageAddressing.value,
  });
  return done(storage);
}
