export { ModelMenu } from "./model-menu.tsx";
export { createModelsStore, isRehearsal, type ModelsStore } from "./models-store.ts";
