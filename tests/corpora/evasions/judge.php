<?php
// The router of `php -S`: prints what PHP made of a body.
header('Content-Type: application/json');
echo json_encode(['post' => $_POST, 'version' => PHP_VERSION], JSON_PARTIAL_OUTPUT_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
