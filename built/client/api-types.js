// Written by `npm run build` from the API's description. Change the routes' schemas, then run it again.
export {};
