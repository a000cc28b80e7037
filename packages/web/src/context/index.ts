export { ContextPanel } from "./context-panel.tsx";
