#pragma once
#include <edgec/backend.h>

#include <memory>

// The compiler half. As a plugin it registers itself (unary_plugin.cpp); a program that links it may make one too.
std::shared_ptr<const edgec::Backend> unary_backend();
