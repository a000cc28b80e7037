export { Settings } from "./settings.tsx";
