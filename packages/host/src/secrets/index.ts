export { openSecrets, type Secrets, type StoredKey } from "./secrets.ts";
