export { createNotifier, type Notifier } from "./notifier.ts";
